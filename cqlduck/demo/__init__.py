"""The demo: the flights that left New York in 2013, with the weather of each hour."""
