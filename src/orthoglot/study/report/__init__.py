"""Records as a page, tables and plots."""
