-- Waits until no Add of this user is under way, and holds off those that come: what follows in the same transaction
-- sees all that was stored before it.
-- parameters: user_id text
SELECT next_n FROM users WHERE user_id = %(user_id)b::text FOR UPDATE
