# A sweep of 500 runs with Dask and pandas.
#
# x
#
#   python sweep-dask.py
