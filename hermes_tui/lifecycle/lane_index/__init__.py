"""The index of lanes: its entries, its file and its table."""
