"""What sessions cost (spec 004 §3.5, §3.6 and §6.4).

The rooms: `prices` and `tariff` what a model costs, `runs` agent-mux's run index, `accounts` from calls to money,
`sheet` the result, `store` where it is kept, `ledger` the whole brought up to date, `beside` and `clerk` other
processes that work for it, `report` sums and groups, `overview` what a screen shows, `messages` the cost of each
message of one session, `desk` what the manager hands on.
"""

from hermes_tui.sessions.cost.report import CostBreakdown, CostOptions, CostSummary, GroupBy

__all__ = ["CostBreakdown", "CostOptions", "CostSummary", "GroupBy"]
