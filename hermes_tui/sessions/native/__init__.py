"""Resumes or forks a session in the agent's own CLI.

Format: spec 004 §7.1.
"""
