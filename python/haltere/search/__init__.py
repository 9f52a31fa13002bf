"""Searches: the best parameters of an experiment (``tune``), and the worst network for a mechanism (``attack``).

`haltere search` and `haltere attack` call these modules. Both propose candidates (``propose``, by Optuna), judge them by runs with the same
seeds (``race``), and leave out what the result does not need (``reduce``). ``network`` is the space of networks of an attack, ``harms`` what an attack looks for.
"""
