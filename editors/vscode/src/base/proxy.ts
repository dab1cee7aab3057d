/** VS Code's network settings. */
export interface ProxySettings {
  /** `http.proxy`. If it is empty, VS Code itself uses the proxy of the environment. */
  proxy: string;
  /** `http.noProxy`. */
  noProxy: readonly string[];
  /** `http.proxySupport`. With `off`, extensions must not use the proxy in these settings. */
  support: string;
}

/**
 * Return the environment variables that pass the proxy in VS Code's settings to a program. Each variable is set in
 * upper and in lower case: the environment may already contain either name, and the program may prefer that one. The
 * user name and password are left out, because other programs can read a process's environment.
 */
export function buildProxyVariables({ proxy, noProxy, support }: ProxySettings): Record<string, string> {
  if (proxy === '' || support === 'off') {
    return {};
  }
  const address = proxy.replace(CREDENTIALS, '$1');
  const variables = {
    HTTP_PROXY: address,
    HTTPS_PROXY: address,
    ...(noProxy.length > 0 && { NO_PROXY: noProxy.join(',') }),
  };
  const pairs = Object.entries(variables).flatMap(([name, value]) => [
    [name, value],
    [name.toLowerCase(), value],
  ]);
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** Whether the proxy URL contains credentials, which are not passed on to the daemon. */
export function hasCredentials(proxy: string): boolean {
  return CREDENTIALS.test(proxy);
}

const CREDENTIALS = /^([a-z0-9]+:\/\/)?[^/]*@/i;
