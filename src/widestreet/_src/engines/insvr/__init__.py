"""INSVR, the published incremental algorithm for nu-SVR."""
