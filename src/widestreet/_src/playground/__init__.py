"""The playground: a page on which points are added, moved and removed, and the model follows."""
