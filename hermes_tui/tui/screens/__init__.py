"""Whole screens: what is put together from the widgets."""
