//! What runs by the clock: when it fired and when it will, each firing claimed once.
