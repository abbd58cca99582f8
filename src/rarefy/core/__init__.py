"""The mathematics: numpy and scipy only, no scikit-learn, no files, no printing."""
