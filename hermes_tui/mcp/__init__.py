"""The tools that agents call, and the server that offers them (Model Context Protocol).

`server` binds them to the protocol's SDK; nothing else imports that.
"""
