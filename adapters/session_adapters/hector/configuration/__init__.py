"""Where Hector's configuration says that its databases are, and what is recalled."""
