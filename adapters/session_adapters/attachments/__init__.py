"""Attachments: measured while a record is read, their bytes on demand.

An adapter has an attachment's base64 for a moment. It is measured then and forgotten, so that neither a list nor an
open session grows with the pictures in it. Whoever wants the bytes reads the session again inside `keeping`.
"""
