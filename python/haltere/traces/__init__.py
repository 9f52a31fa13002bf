"""Traces of links: what one says (`trace`), files of other tools (`files`), public and drawn ones by name (`public`): `haltere trace`."""

#: Formats that are read, and those that are written.
READ = ("mahimahi", "csv", "theaterq", "leoem", "cellreplay")
WRITTEN = ("mahimahi", "csv", "theaterq")
