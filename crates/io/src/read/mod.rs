//! Streaming readers.
