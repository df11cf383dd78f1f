"""How files and databases of agents are read: what all adapters share."""
