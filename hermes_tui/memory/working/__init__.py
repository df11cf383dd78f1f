"""Layer 2: what of a conversation an agent has before it, by strategy.

Format: spec 001 «Working Memory Strategies»; facts agentmux_hector.md 2.4.
"""
