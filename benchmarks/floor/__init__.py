"""The bare SQL loop that any queue on this store needs: the rate to compare Fairlead with."""
