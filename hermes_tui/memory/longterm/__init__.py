"""Layer 3: what was said, found again by its meaning.

Format: spec 001 «Long-Term Memory».
"""
