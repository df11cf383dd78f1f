"""Exit codes: what they mean.

| code | meaning |
|---|---|
| 0 | done |
| 1 | a session or a store cannot be read, or a store not be written, or an unexpected error |
| 2 | wrong usage |
| 3 | no such agent |
| 4 | the agent's own CLI is not installed |
| 6 | the agent cannot do that |
| 8 | no such session, or no such lane |
| 10 | refused: a lane cannot be changed now, and nothing was; or nobody agreed to start a program |
| 11 | lost: the change did not hold |
| 12 | pending: the change takes effect at the lane's next message |
| 130 | interrupted with Ctrl-C |
| 141 | the reader of our output closed it |
"""

from __future__ import annotations

__all__ = ["CLOSED_PIPE", "FAILURE", "INTERRUPTED", "LOST", "OK", "PENDING", "REFUSED", "USAGE"]

OK = 0
FAILURE = 1
USAGE = 2
REFUSED = 10
LOST = 11
PENDING = 12
INTERRUPTED = 130
CLOSED_PIPE = 141
