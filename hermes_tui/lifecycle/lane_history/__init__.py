"""What became of a lane's conversations: every session it had, and why each ended."""
