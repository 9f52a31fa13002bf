"""Reports: documents of text, tables and figures, and the pages made of them."""

from .document import Block, Bullets, Choice, Document, Figure, Heading, Picture, Table, Text

__all__ = ["Block", "Bullets", "Choice", "Document", "Figure", "Heading", "Picture", "Table", "Text"]
