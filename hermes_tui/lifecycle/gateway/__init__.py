"""Hermes homes, their gateways and configurations."""
