//! Things worth remembering, as they were observed.
