"""News: plain data, that can be pickled and that says all there is to know."""

from __future__ import annotations

import pickle

import numpy as np

from widestreet._src.shards.expansion import Expansion
from widestreet._src.shards.news import News, Released
from widestreet._src.shards.point import Point


def test_news_travel():
    expansion = Expansion.zero(2).published(np.array([4, 1]), np.ones(2), np.ones(2), 3.0)
    released = Released(np.array([2]), np.array([0.5]), 1)
    news = News(7, expansion, Point(np.array([1, 4]), np.ones((2, 2))), np.array([4]), released)
    copy = pickle.loads(pickle.dumps(news))
    assert (copy.serial, copy.double, copy.released.version) == (7, False, 1)
    assert np.array_equal(copy.expansion.ids, [1, 4])
    assert np.array_equal(copy.point.dense(5), news.point.dense(5))
    assert np.array_equal(copy.members, [4])


def test_nobody_is_inside_and_nobody_left_by_default():
    news = News(0, Expansion.zero(1), Point.zero(1))
    assert len(news.members) == len(news.released.ids) == len(news.released.score) == 0
