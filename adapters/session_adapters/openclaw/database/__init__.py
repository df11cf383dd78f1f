"""The databases of OpenClaw: a row for each session, and one for each event of it.

The rooms: `tables` keys and windows, `events` what is asked of a session, `event_stores` its conversation, `counting`
what it comes to, `texts` what is new in it for the index.
"""
