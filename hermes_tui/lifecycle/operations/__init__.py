"""Changing lanes: plan, apply, verify, undo.

The only door back into an agent's store (law 8).

operations = Operations(environment)
plan = operations.plan(Request(kind="reset", key="agent:main:telegram:dm:1"))
if not plan.refusal:
    outcome = operations.apply(plan)         # done, or pending: then ask again
    outcome = operations.outcome(outcome.operation)
"""

from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Kind, Plan, Request
from hermes_tui.lifecycle.operations.record import AuditRecord, Operation
from hermes_tui.lifecycle.operations.verify import Outcome

__all__ = ["Audit", "AuditRecord", "Kind", "Operation", "Operations", "Outcome", "Plan", "Request"]
