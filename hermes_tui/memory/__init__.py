"""Hector's three layers of memory: sessions, working memory, long-term memory.

Format: spec 001; facts agentmux_hector.md, part 2.

    service.MemoryService                 saves a turn, recalls, shuts down
    ├── session_service.SessionService    layer 1: messages in SQL (`sql`), or in memory
    ├── working.WorkingMemoryStrategy     layer 2: what of them the agent sees
    └── longterm.LongTermMemory           layer 3: what was said, found by its meaning
    configuration, components             all of it by Hector's own YAML
"""
