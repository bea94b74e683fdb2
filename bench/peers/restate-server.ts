import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, startDaemon } from '../../scripts/daemon.mjs'
import type { Later } from '../harness/closing.js'
import { temporaryFolder } from '../harness/temporary-folder.js'

/** Ports of the loopback: where requests come in, and where services are made known. */
export interface Restate {
  readonly ingress: number
  readonly admin: number
}

/** The server that its registry package ships, with its own defaults. Throws when there is none for this platform. */
export async function startedRestate(programs: URL, later: Later): Promise<Restate> {
  const platform = `@restatedev/restate-server-${process.platform}-${process.arch}`
  const command = fileURLToPath(new URL(`node_modules/${platform}/bin/restate-server`, programs))
  const home = temporaryFolder('restate', later)
  const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()]
  const server = startDaemon({
    command,
    args: ['--no-logo'],
    options: {
      cwd: home,
      env: {
        ...process.env,
        RESTATE_BASE_DIR: home,
        RESTATE_LISTEN_MODE: 'tcp',
        RESTATE_BIND_IP: '127.0.0.1',
        RESTATE_BIND_PORT: String(node),
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
        RESTATE_DISABLE_TELEMETRY: 'true',
      },
    },
    log: join(home, 'log'),
    stopSignals: ['SIGTERM', 'SIGKILL'],
    abandonSignal: 'SIGKILL',
  })
  later(() => server.stop())
  await server.untilReady(() => isHealthy(admin))
  return { ingress, admin }
}

async function isHealthy(admin: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${admin}/health`).then(
    ({ ok }) => ok,
    () => false,
  )
}
