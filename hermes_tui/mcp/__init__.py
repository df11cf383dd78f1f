"""The tools that agents call, and their server (Model Context Protocol).

`server` binds them to the protocol's SDK; nothing else imports that.
"""
