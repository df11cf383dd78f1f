"""Masking of secrets in texts (`--redact`)."""
