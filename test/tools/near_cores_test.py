"""tools/near_cores.py with a machine whose cores move as the test says, and a clock of its own."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import near_cores  # noqa: E402

NEAR, FAR = near_cores.NEAR_NS, near_cores.NEAR_NS + 1


class Machine:
    """`distances` of one look after the other, the last one for ever. A turn takes a second."""

    def __init__(self, *distances):
        self.distances, self.now, self.ran = list(distances), 0.0, 0
        self.turns = near_cores.Turns("no build", distance=self.look, clock=lambda: self.now, pause=self.pass_time)

    def look(self, _):
        return self.distances.pop(0) if len(self.distances) > 1 else self.distances[0]

    def pass_time(self, seconds):
        self.now += seconds

    def run(self):
        self.now += 1
        self.ran += 1
        return self.ran


class Turns(unittest.TestCase):
    def test_a_turn_between_near_cores_counts(self):
        machine = Machine(NEAR)
        self.assertEqual([machine.turns.take(machine.run) for _ in range(2)], [1, 2])
        self.assertEqual((machine.turns.again, machine.turns.far), (0, 0))

    def test_a_turn_begins_when_cores_are_near(self):
        machine = Machine(FAR, FAR, NEAR)
        self.assertEqual(machine.turns.take(machine.run), 1)
        self.assertEqual(machine.now, 1 + 2 * near_cores.PAUSE_SECONDS)

    def test_a_turn_in_which_the_cores_moved_apart_is_taken_again(self):
        machine = Machine(NEAR, FAR, FAR, NEAR)
        self.assertEqual(machine.turns.take(machine.run), 2)
        self.assertEqual((machine.turns.again, machine.turns.far), (1, 0))

    def test_cores_that_stay_far_are_not_waited_for_for_ever_and_that_is_told(self):
        machine = Machine(FAR)
        self.assertEqual(machine.turns.take(machine.run), 1)
        self.assertLessEqual(machine.now, near_cores.PATIENCE_SECONDS + 1)
        self.assertEqual(machine.turns.told(), "0 turns taken again, 1 that count although two cores were far from each other")

    def test_cores_that_keep_moving_are_not_waited_for_for_ever_either(self):
        machine = Machine(*[NEAR, FAR] * 1000)
        machine.turns.take(machine.run)
        self.assertLessEqual(machine.now, near_cores.PATIENCE_SECONDS + 1)
        self.assertEqual(machine.turns.far, 1)

    def test_a_turn_that_began_with_far_cores_does_not_count_as_one_between_near_ones(self):
        looks = 1 + int(near_cores.PATIENCE_SECONDS / near_cores.PAUSE_SECONDS)
        machine = Machine(*[FAR] * looks, NEAR)
        self.assertEqual(machine.turns.take(machine.run), 1)
        self.assertEqual(machine.turns.far, 1)

    def test_where_nobody_can_tell_every_turn_counts(self):
        self.assertIsNone(near_cores.distance_ns("/nowhere"))
        machine = Machine(None)
        self.assertEqual(machine.turns.take(machine.run), 1)
        self.assertEqual(machine.turns.told(), "0 turns taken again, 0 that count although two cores were far from each other")


if __name__ == "__main__":
    unittest.main()
