"""Text to terms: what a memory and a query are compared by, beside their vectors."""
