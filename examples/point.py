"""Points of the plane."""


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __repr__(self):
        return f"Point({self.x}, {self.y})"

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return 

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y


def test_add():
    assert Point(1, 2) + Point(3, 4) == Point(4, 6)
