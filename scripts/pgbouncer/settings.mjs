/** What pgbouncer is told. Whoever reaches it is trusted, as with the server behind it. */

/** @typedef {{ port: number, users: string }} Place its port, and the file of users that it knows from the start */

/**
 * One pool per role and database, and a server that takes 200 connections in all: half of them may come through here,
 * and the rest is for the tests that connect directly. A pool that is full takes an idle connection from another one.
 *
 * @param {string} serverUrl
 * @param {Place} place
 */
export function settingsFor(serverUrl, { port, users }) {
  const server = new URL(serverUrl)
  return `[databases]
* = host=${server.hostname} port=${server.port || 5432}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 50
max_db_connections = 100
server_idle_timeout = 10
server_login_retry = 1
query_wait_timeout = 15
stats_users = ${userOf(server)}
; A role that a test has just made is looked up on the server, so that any may log in.
auth_type = trust
auth_file = ${users}
auth_user = ${userOf(server)}
auth_query = SELECT rolname, NULL FROM pg_roles WHERE rolname = $1
`
}

/** @param {string} serverUrl */
export function usersFor(serverUrl) {
  const server = new URL(serverUrl)
  return `"${userOf(server)}" "${decodeURIComponent(server.password).replaceAll('"', '""')}"\n`
}

/** @param {URL} server */
function userOf(server) {
  return decodeURIComponent(server.username) || 'postgres'
}
