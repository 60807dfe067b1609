"""The files in data/ are what make_data.py makes."""
import unittest

import make_data


class Data(unittest.TestCase):
    def test_made_by_make_data(self):
        made = make_data.files()
        self.assertEqual(sorted(made), sorted(path.name for path in make_data.DATA.iterdir()))
        for name, text in made.items():
            self.assertEqual((make_data.DATA / name).read_text(), text, f"{name}: run tests/report/make_data.py")
            self.assertIn("TEST DATA", text)


if __name__ == "__main__":
    unittest.main()
