-- Goes ahead of every hot statement in its pipeline: local to that one implicit transaction, so nothing is
-- left on the connection, also behind a pooler in transaction mode. The user is set for row-level security.
-- Generic plans: planning anew for each user's values took 1.4 ms of 11 and chose the same plan.
-- No parallel workers: to start them takes 28 ms, more than most searches, and there are others to serve.
-- hnsw: as many candidates as a search asks its index for; strict_order goes on where rows of others, or erased ones,
-- took places.
-- parameters: user_id text, search_path text, statement_timeout text, ef_search text
SELECT set_config('pgrecall.user_id', %(user_id)b::text, true),
       set_config('search_path', %(search_path)b::text, true),
       set_config('statement_timeout', %(statement_timeout)b::text, true),
       set_config('jit', 'off', true),
       set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('hnsw.ef_search', %(ef_search)b::text, true),
       set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('max_parallel_workers_per_gather', '0', true)
