// Reading from the API with a cache; what was changed is read again.

import { QueryClient, useQuery, useQueryClient } from "@tanstack/preact-query";
import { get, type Query } from "../api";

export const cache = new QueryClient({
  defaultOptions: { queries: { retry: 1, staleTime: 1_000, refetchOnWindowFocus: true } },
});

export function useRead<T>(path: string, query: Query = {}, every: number | false = false) {
  return useQuery<T>({
    queryKey: [path, query],
    queryFn: () => get<T>(path, query),
    refetchInterval: every,
    placeholderData: (before) => before,
  });
}

export function useRefresh(): () => void {
  const client = useQueryClient();
  return () => void client.invalidateQueries();
}
