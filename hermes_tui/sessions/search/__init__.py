"""Search in three shapes (spec 003): *discovery*, *scroll* and *browse*.

*Discovery* finds conversations, *scroll* reads around a message of one and *browse* lists the recent ones.
`incremental` answers while a user types.

All of them stand on `hunt`: what the index knows, what Hermes' own index knows, and a scan of everything else.
"""
