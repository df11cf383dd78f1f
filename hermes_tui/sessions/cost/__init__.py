"""What sessions cost (spec 004 §3.5, §3.6 and §6.4).

`prices` and `rates` say what a model costs, `runs` is agent-mux's run index, `call_reader` reads calls, `aggregate`
makes money of them, `summary` is the result, `session_sources` says which file stands for a session, `cache` keeps
all of it up to date, `report` has sums and groups, `overview` what a screen shows, `messages` the cost of each
message of one session, `service` what the manager hands on.
"""
