"""Traces of links: what one says (`trace`), files of other tools (`files`), public and drawn ones by name (`public`): `haltere trace`."""
