"""The screens of the gateway's lanes."""
