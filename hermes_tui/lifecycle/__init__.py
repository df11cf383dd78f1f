"""What decides over the life of a Hermes conversation: gateways, lanes, resets."""
