"""Files of databases, and private copies of them."""
