"""Operations on sessions: rename, end, reopen, delete, clear, prune."""
