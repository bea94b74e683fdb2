import type { Sandbox } from '../sandbox.js'
import type { Path } from '../web/path.js'
import { withoutProviders } from '../web/without-providers.js'
import { createRide } from './create-ride.js'
import { showRide, showRides } from './show-rides.js'

export function rideRoutes(sandbox: Sandbox): readonly Path[] {
  const { partners } = sandbox
  return [
    ['POST', '/rides', partners === undefined ? withoutProviders() : createRide(sandbox, partners)],
    ['GET', '/rides', showRides(sandbox)],
    ['GET', '/rides/:id(^[\\w-]+$)', showRide(sandbox)],
  ]
}
