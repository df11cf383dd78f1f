"""Changing lanes: plan, apply, verify, undo.

The only door back into an agent's store (law 8).

operations = Operations(environment)
plan = operations.plan(Request(kind="reset", key="agent:main:telegram:dm:1"))
if not plan.refusal:
    outcome = operations.apply(plan)         # done, or pending: then ask again
    outcome = operations.outcome(outcome.operation)
"""
