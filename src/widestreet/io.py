"""Models of other libraries, and files for them."""

from widestreet._src.persistence.archive import ArchiveError
from widestreet._src.public import set_home

__all__ = ["ArchiveError"]

set_home(__all__, globals())
del set_home
