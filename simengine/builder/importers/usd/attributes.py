"""The attributes of USD files: what each becomes, in which unit of the stage it is written, or why it is passed over.

``*`` stands for one part of a name (the instance of a schema, such as ``rotX``), and at the end for all that follows.
"""

from __future__ import annotations

from functools import cache

from simengine.builder.importers.attributes import (
    MEDIUM,
    MIX,
    NO_EQUALITY,
    NO_SLIP,
    Attribute,
    AttributeTable,
    attributes,
)

APPEARANCE = "appearance only"
DERIVED = "follows from the geometry itself"
OTHER_ENGINE = "a setting of another engine's solver"
NO_SDF = "the triangles collide; for a distance field use add_shape_sdf"
NO_DRAG = "bodies have no drag of their own yet"

PHYSICS = [
    *attributes(
        "PhysicsScene",
        ("physics:gravityDirection", "builder.gravity", "", "minus the up axis"),
        ("physics:gravityMagnitude", "builder.gravity", "distance/s2", "9.81 m/s2"),
    ),
    *attributes(
        "PhysicsRigidBodyAPI",
        ("physics:rigidBodyEnabled", "a body, else part of the world", "", "true"),
        ("physics:kinematicEnabled", "body.kinematic", "", "false"),
        ("physics:velocity", "body.velocity", "distance/s", "0"),
        ("physics:angularVelocity", "body.velocity", "degrees/s", "0"),
    ),
    *attributes("PhysicsRigidBodyAPI", ("physics:startsAsleep",), fate="ignored", reason="bodies never sleep"),
    *attributes(
        "PhysicsMassAPI",
        ("physics:mass", "body.mass", "mass", "0: from density and volume"),
        ("physics:density", "density of what is weighed", "mass/distance3", "0: that of the material, else 1000 kg/m3"),
        ("physics:centerOfMass", "body.com", "distance", "that of the colliders"),
        ("physics:diagonalInertia", "body.inertia", "mass distance2", "0: that of the colliders"),
        ("physics:principalAxes", "body.inertia", "", "no turn"),
    ),
    *attributes("PhysicsCollisionAPI", ("physics:collisionEnabled", "shape.collides", "", "true")),
    *attributes("PhysicsMeshCollisionAPI", ("physics:approximation", "shape.type", "", "none: the triangles")),
    *attributes(
        "PhysicsMaterialAPI",
        ("physics:staticFriction", "material.static_friction", "", "0"),
        ("physics:dynamicFriction", "material.friction", "", "0"),
        ("physics:restitution", "material.restitution", "", "0"),
    ),
    *attributes(
        "PhysicsJoint",
        ("physics:localPos0", "joint.parent_xform", "distance", "0"),
        ("physics:localPos1", "joint.child_xform", "distance", "0"),
        ("physics:localRot0", "joint.parent_xform", "", "no turn"),
        ("physics:localRot1", "joint.child_xform", "", "no turn"),
        ("physics:jointEnabled", "whether there is a joint", "", "true"),
        ("physics:excludeFromArticulation", "a loop joint, where the body has another joint", "", "false"),
        ("physics:axis", "dof.axis", "", "X"),
        ("physics:lowerLimit", "dof.limit_lower", "distance or degrees", "-inf"),
        ("physics:upperLimit", "dof.limit_upper", "distance or degrees", "inf"),
        ("physics:coneAngle0Limit", "joint.swing_limit", "degrees", "-1: none"),
        ("physics:coneAngle1Limit", "joint.swing_limit", "degrees", "-1: none"),
        ("physics:minDistance", "distance equality", "distance", "-1: none"),
        ("physics:maxDistance", "distance equality", "distance", "-1: none"),
    ),
    *attributes(
        "PhysicsJoint",
        ("physics:breakForce", "", "force", "inf"),
        ("physics:breakTorque", "", "torque", "inf"),
        fate="ignored",
        reason="joints do not break",
    ),
    *attributes(
        "PhysicsLimitAPI",
        ("limit:*:physics:low", "dof.limit_lower", "distance or degrees", "-inf"),
        ("limit:*:physics:high", "dof.limit_upper", "distance or degrees", "inf"),
    ),
    *attributes(
        "PhysicsDriveAPI",
        ("drive:*:physics:type", "how the gains are meant", "", "force"),
        ("drive:*:physics:targetPosition", "dof.target_pos", "distance or degrees", "0"),
        ("drive:*:physics:targetVelocity", "dof.target_vel", "distance/s or degrees/s", "0"),
        ("drive:*:physics:stiffness", "dof.target_ke", "force/distance or torque/degree", "0"),
        ("drive:*:physics:damping", "dof.target_kd", "force s/distance or torque s/degree", "0"),
        ("drive:*:physics:maxForce", "dof.effort_limit", "force or torque", "inf"),
    ),
    *attributes(
        "PhysicsJointStateAPI",
        ("state:*:physics:position", "joint.q", "distance or degrees", "from the poses of the bodies"),
        ("state:*:physics:velocity", "joint.qd", "distance/s or degrees/s", "0"),
    ),
    *attributes(
        "PhysicsJointStateAPI",
        ("state:*:physics:appliedForce",),
        ("physics:tensor:*",),
        fate="ignored",
        reason="what another engine computed",
    ),
    *attributes(
        "PhysicsCollisionGroup",
        ("physics:mergeGroup", "shape filters", "", ""),
        ("physics:invertFilteredGroups", "shape filters", "", "false"),
        ("collection:*", "members of the group", "", ""),
    ),
]

DEFORMABLES = attributes(
    "PhysicsDeformableMaterialAPI",
    ("physics:youngsModulus", "deformable.parameters", "force/distance2", ""),
    ("physics:poissonsRatio", "deformable.parameters", "", ""),
    ("physics:thickness", "deformable.parameters", "distance", ""),
    ("physics:stretchStiffness", "deformable.parameters", "", ""),
    ("physics:shearStiffness", "deformable.parameters", "", ""),
    ("physics:bendStiffness", "deformable.parameters", "", ""),
    ("physics:curvesThickness", "deformable.parameters", "distance", ""),
    ("physics:curvesStretchStiffness", "deformable.parameters", "", ""),
    ("physics:curvesShearStiffness", "deformable.parameters", "", ""),
    ("physics:curvesBendStiffness", "deformable.parameters", "", ""),
    ("physics:curvesTwistStiffness", "deformable.parameters", "", ""),
    ("omniphysics:youngsModulus", "deformable.parameters", "force/distance2", ""),
    ("omniphysics:poissonsRatio", "deformable.parameters", "", ""),
    ("omniphysics:density", "deformable.parameters", "mass/distance3", ""),
    ("omniphysics:dynamicFriction", "deformable.parameters", "", ""),
    ("omniphysics:staticFriction", "deformable.parameters", "", ""),
    fate="kept",
    reason="deformable bodies are not simulated yet",
)

NEWTON = [
    *attributes(
        "NewtonSceneAPI",
        ("newton:timeStepsPerSecond", "options.dt", "Hz", "1000"),
        ("newton:maxSolverIterations", "options.iterations", "", "-1: the solver's own"),
        ("newton:gravityEnabled", "builder.gravity", "", "true"),
    ),
    *attributes(
        "NewtonArticulationRootAPI",
        ("newton:selfCollisionEnabled", "shape filters", "", "true"),
        ("newton:jointsAddMobility", "joints of one pair of bodies are one joint", "", "false"),
    ),
    *attributes(
        "NewtonJointAPI",
        ("newton:armature", "dof.armature", "mass or mass distance2", "0"),
        ("newton:damping", "dof.damping", "force s/distance or torque s/degree", "0"),
        ("newton:friction", "dof.friction", "force or torque", "0"),
        ("newton:velocityLimit", "dof.velocity_limit, where velocity_limits=True", "distance/s or degrees/s", "inf"),
        ("newton:limitStiffness", "dof.limit_ke", "force/distance or torque/degree", "-inf: hard"),
        ("newton:limitDamping", "dof.limit_kd", "force s/distance or torque s/degree", "-inf: 0"),
    ),
    *attributes(
        "NewtonMassAPI",
        ("newton:inertia", "body.inertia", "mass distance2", ""),
        ("newton:massModel", "how a shape is weighed", "", "solid"),
        ("newton:shellThickness", "how a shape is weighed", "distance", "-inf: 1 mm"),
    ),
    *attributes(
        "NewtonCollisionAPI",
        ("newton:contactMargin", "shape.margin", "distance", "0"),
        ("newton:contactGap", "shape.gap", "distance", "-inf: 0"),
    ),
    *attributes(
        "NewtonMaterialAPI",
        ("newton:torsionalFriction", "material.torsional", "distance", "0.005 m"),
        ("newton:rollingFriction", "material.rolling", "distance", "0.0001 m"),
        ("newton:contactStiffness", "material.stiffness", "force/distance", "-inf: the engine's own"),
    ),
    *attributes(
        "NewtonMaterialAPI",
        ("newton:contactDamping", "", "force s/distance", "-inf"),
        ("newton:contactFrictionGain", "", "force s/distance", "-inf"),
        ("newton:contactAdhesion", "", "distance", "-inf"),
        fate="ignored",
        reason="contacts have no linear damper, friction gain or adhesion",
    ),
    *attributes(
        "NewtonMimicAPI",
        ("newton:mimicEnabled", "joint equality", "", "true"),
        ("newton:mimicCoef0", "joint equality", "distance or degrees", "0"),
        ("newton:mimicCoef1", "joint equality", "", "1"),
    ),
    *attributes(
        "NewtonPDControlAPI",
        ("newton:kp", "actuator.gain, actuator.bias", "force/distance or torque/radian", "0"),
        ("newton:kd", "actuator.bias", "force s/distance or torque s/radian", "0"),
        ("newton:constEffort", "actuator.bias", "force or torque", "0"),
        fate="kept",
        reason="actuators are not simulated yet",
    ),
    *attributes(
        "NewtonMeshCollisionAPI",
        ("newton:maxHullVertices",),
        fate="ignored",
        reason="hulls keep all their vertices",
    ),
    *attributes(
        "NewtonSDFCollisionAPI",
        *((f"newton:{name}",) for name in ("sdfMaxResolution", "sdfTargetVoxelSize", "sdfNarrowBandInner")),
        *((f"newton:{name}",) for name in ("sdfNarrowBandOuter", "sdfTextureFormat", "sdfPadding")),
        ("newton:hydroelasticEnabled",),
        ("newton:hydroelasticStiffness",),
        fate="ignored",
        reason=NO_SDF,
    ),
    *attributes("NewtonMPMSceneAPI", ("newton:mpm:*",), fate="ignored", reason="there is no material point method"),
]

PHYSX = [
    *attributes("PhysxSceneAPI", ("physxScene:timeStepsPerSecond", "options.dt", "Hz", "60")),
    *attributes("PhysxRigidBodyAPI", ("physxRigidBody:disableGravity", "body.gravity_compensation", "", "false")),
    *attributes(
        "PhysxArticulationAPI",
        ("physxArticulation:enabledSelfCollisions", "shape filters", "", "true"),
        ("physxArticulation:articulationEnabled", "whether its joints form a tree", "", "true"),
    ),
    *attributes(
        "PhysxCollisionAPI",
        ("physxCollision:restOffset", "shape.margin", "distance", "-inf: 0"),
        ("physxCollision:contactOffset", "shape.gap, less the rest offset", "distance", "-inf: no gap"),
    ),
    *attributes(
        "PhysxConvexDecompositionCollisionAPI",
        ("physxConvexDecompositionCollision:maxConvexHulls", "most parts of a decomposition", "", "32"),
    ),
    *attributes(
        "PhysxJointAPI",
        ("physxJoint:armature", "dof.armature", "mass or mass distance2", "0"),
        (
            "physxJoint:maxJointVelocity",
            "dof.velocity_limit, where velocity_limits=True",
            "distance/s or degrees/s",
            "inf",
        ),
    ),
    *attributes(
        "PhysxJointAxisAPI",
        ("physxJointAxis:*:armature", "dof.armature", "mass or mass distance2", "0"),
        ("physxJointAxis:*:maxJointVelocity", "dof.velocity_limit", "distance/s or degrees/s", "inf"),
        ("physxJointAxis:*:dynamicFrictionEffort", "dof.friction", "force or torque", "0"),
        ("physxJointAxis:*:viscousFrictionCoefficient", "dof.damping", "force s/distance or torque s/degree", "0"),
    ),
    *attributes(
        "PhysxLimitAPI",
        ("physxLimit:*:stiffness", "dof.limit_ke", "force/distance or torque/degree", "0: hard"),
        ("physxLimit:*:damping", "dof.limit_kd", "force s/distance or torque s/degree", "0"),
    ),
    *attributes(
        "PhysxMaterialAPI",
        ("physxMaterial:frictionCombineMode", "material.combine", "", "average"),
        ("physxMaterial:compliantContactStiffness", "material.stiffness", "force/distance", "0: the engine's own"),
    ),
    *attributes(
        "PhysxMimicJointAPI",
        ("physxMimicJoint:*:gearing", "joint equality", "", "1"),
        ("physxMimicJoint:*:offset", "joint equality", "distance or degrees", "0"),
        ("physxMimicJoint:*:referenceJointAxis", "joint equality", "", "rotX"),
    ),
    *attributes(
        "PhysxTendonAxisAPI",
        ("physxTendon:*:gearing", "tendon.terms", " or distance/degree", "1"),
        ("physxTendon:*:jointAxis", "tendon.terms", "", ""),
        ("physxTendon:*:restLength", "tendon.spring_length", "distance", "0"),
        ("physxTendon:*:offset", "tendon.spring_length", "distance", "0"),
        ("physxTendon:*:stiffness", "tendon.stiffness", "force/distance", "0"),
        ("physxTendon:*:damping", "tendon.damping", "force s/distance", "0"),
        ("physxTendon:*:lowerLimit", "tendon.limit_lower", "distance", "-inf"),
        ("physxTendon:*:upperLimit", "tendon.limit_upper", "distance", "inf"),
        ("physxTendon:*:localPos", "tendon.path", "distance", "0"),
        ("physxTendon:*:parentAttachment", "tendon.path", "", ""),
        ("physxTendon:*:tendonEnabled", "whether there is a tendon", "", "true"),
        fate="kept",
        reason="tendons are not simulated yet",
    ),
    *attributes(
        "PhysxTendonAxisAPI",
        ("physxTendon:*:limitStiffness",),
        ("physxTendon:*:forceCoefficient",),
        fate="ignored",
        reason="limits of tendons are hard, and gearing is the coefficient of force too",
    ),
    *attributes(
        "PhysxJointAPI",
        ("physxJoint:jointFriction",),
        fate="ignored",
        reason="a factor on the force in the joint, not a friction torque",
    ),
    *attributes(
        "PhysxRigidBodyAPI",
        ("physxRigidBody:linearDamping", "", "1/s", "0"),
        ("physxRigidBody:angularDamping", "", "1/s", "0.05"),
        fate="ignored",
        reason=NO_DRAG,
    ),
    *attributes(
        "PhysxRigidBodyAPI",
        ("physxRigidBody:enableGyroscopicForces",),
        fate="ignored",
        reason="gyroscopic torques always act",
    ),
    *attributes(
        "PhysxLimitAPI",
        ("physxLimit:*:restitution",),
        ("physxLimit:*:bounceThreshold",),
        fate="ignored",
        reason="limits do not bounce",
    ),
    *attributes(
        "PhysxMaterialAPI",
        ("physxMaterial:restitutionCombineMode",),
        ("physxMaterial:dampingCombineMode",),
        fate="ignored",
        reason="a material has one combine mode, that of its friction",
    ),
    *attributes(
        "PhysxMaterialAPI",
        ("physxMaterial:compliantContactDamping",),
        ("physxMaterial:compliantContactAccelerationSpring",),
        fate="ignored",
        reason="contacts have no linear damper",
    ),
    *(
        Attribute(schema, f"{schema[0].lower()}{schema[1:].removesuffix('API')}:*", fate="ignored", reason=reason)
        for schema, reason in (
            ("PhysxSDFMeshCollisionAPI", NO_SDF),
            ("PhysxConvexHullCollisionAPI", "hulls keep all their vertices"),
            ("PhysxConvexDecompositionCollisionAPI", OTHER_ENGINE),
            ("PhysxTriangleMeshCollisionAPI", OTHER_ENGINE),
            ("PhysxTriangleMeshSimplificationCollisionAPI", OTHER_ENGINE),
            ("PhysxContactReportAPI", "contacts are always there to be read"),
            ("PhysxSceneAPI", OTHER_ENGINE),
            ("PhysxRigidBodyAPI", OTHER_ENGINE),
            ("PhysxArticulationAPI", OTHER_ENGINE),
            ("PhysxCollisionAPI", OTHER_ENGINE),
            ("PhysxJointAPI", OTHER_ENGINE),
            ("PhysxJointAxisAPI", OTHER_ENGINE),
            ("PhysxMimicJointAPI", OTHER_ENGINE),
            ("PhysxDrivePerformanceEnvelopeAPI", "drives have one limit of effort"),
            ("PhysxDeformableAPI", "deformable bodies of PhysX are not read"),
        )
    ),
    *attributes(
        "PhysxSceneAPI",
        ("TimeStepsPerSecond",),
        ("warpSim:*",),
        ("physics:engine",),
        ("Fabric:*",),
        ("physics:newton:*",),
        ("gravity",),
        fate="ignored",
        reason=OTHER_ENGINE,
    ),
]

MJC_JOINT = attributes(
    "MjcJointAPI",
    ("mjc:armature", "dof.armature", "mass or mass distance2", "0"),
    ("mjc:damping", "dof.damping", "force s/distance or torque s/radian", "0"),
    ("mjc:frictionloss", "dof.friction", "force or torque", "0"),
    ("mjc:stiffness", "dof.stiffness", "force/distance or torque/radian", "0"),
    ("mjc:springref", "dof.spring_ref", "distance or radians", "0"),
    ("mjc:margin", "dof.limit_margin, shape.margin", "distance or radians", "0"),
    ("mjc:solreflimit", "dof.limit_reference", "", "0.02 1"),
    ("mjc:solimplimit", "dof.limit_impedance", "", "0.9 0.95 0.001 0.5 2"),
    ("mjc:solreffriction", "dof.friction_reference", "", "0.02 1"),
    ("mjc:solimpfriction", "dof.friction_impedance", "", "0.9 0.95 0.001 0.5 2"),
    ("mjc:compiler:angle", "whether mjc:springref and mjc:margin are in degrees", "", "degree"),
)

MJC_KEPT = (
    attributes(
        "MjcActuator",
        ("mjc:gainType", "actuator.gain", "", "fixed"),
        ("mjc:gainPrm", "actuator.gain", "", "1"),
        ("mjc:biasType", "actuator.bias", "", "none"),
        ("mjc:biasPrm", "actuator.bias", "", "0"),
        ("mjc:dynType", "actuator.dynamics", "", "none"),
        ("mjc:dynPrm", "actuator.dynamics", "", "1"),
        ("mjc:actDim", "actuator.activations", "", "by the dynamics"),
        ("mjc:actEarly", "actuator.early", "", "false"),
        ("mjc:gear", "actuator.gear", "", "1 0 0 0 0 0"),
        ("mjc:crankLength", "actuator.crank_length", "distance", "0"),
        ("mjc:ctrlLimited", "actuator.control_range", "", "auto"),
        ("mjc:ctrlRange:min", "actuator.control_range", "", "0"),
        ("mjc:ctrlRange:max", "actuator.control_range", "", "0"),
        ("mjc:forceLimited", "actuator.force_range", "", "auto"),
        ("mjc:forceRange:min", "actuator.force_range", "", "0"),
        ("mjc:forceRange:max", "actuator.force_range", "", "0"),
        ("mjc:actLimited", "actuator.activation_range", "", "auto"),
        ("mjc:actRange:min", "actuator.activation_range", "", "0"),
        ("mjc:actRange:max", "actuator.activation_range", "", "0"),
        ("mjc:lengthRange:min", "actuator.length_range", "", "0"),
        ("mjc:lengthRange:max", "actuator.length_range", "", "0"),
        ("mjc:jointInParent", "actuator.transmission", "", "false"),
        fate="kept",
        reason="actuators are not simulated yet",
    )
    + attributes(
        "MjcTendon",
        ("mjc:type", "tendon.terms or tendon.path", "", "spatial"),
        ("mjc:path:coef", "tendon.terms", "", ""),
        ("mjc:path:indices", "tendon.path", "", ""),
        ("mjc:path:segments", "tendon.path", "", ""),
        ("mjc:path:divisors", "tendon.path", "", ""),
        ("mjc:sideSites:indices", "tendon.path", "", "-1: no side"),
        ("mjc:springlength", "tendon.spring_length", "", "at the initial pose"),
        ("mjc:limited", "tendon.limit_lower", "", "auto"),
        ("mjc:range:min", "tendon.limit_lower", "", "0"),
        ("mjc:range:max", "tendon.limit_upper", "", "0"),
        ("mjc:width", "tendon.width", "distance", "0.003"),
        fate="kept",
        reason="tendons are not simulated yet",
    )
    + attributes(
        "MjcKeyframe",
        ("mjc:qpos", "keyframe.joints", "", ""),
        ("mjc:qvel", "keyframe.joints", "", ""),
        ("mjc:ctrl", "keyframe.actuators", "", ""),
        fate="kept",
        reason="a named state: nothing takes it by itself",
    )
)

MJC = [
    *MJC_JOINT,
    *MJC_KEPT,
    *attributes(
        "MjcSceneAPI",
        ("mjc:option:timestep", "options.dt", "s", "0.002"),
        ("mjc:option:integrator", "options.integrator", "", "euler"),
        ("mjc:option:cone", "options.cone", "", "pyramidal"),
        ("mjc:option:impratio", "options.impratio", "", "1"),
        ("mjc:option:iterations", "options.iterations", "", "100"),
        ("mjc:option:tolerance", "options.tolerance", "", "1e-8"),
        ("mjc:option:magnetic", "options.magnetic", "", ""),
        ("mjc:option:*", "options.other", "", ""),
        ("mjc:flag:*", "options.enabled, options.disabled", "", ""),
    ),
    *attributes(
        "MjcSceneAPI",
        ("mjc:option:density", "options.density", "", "0"),
        ("mjc:option:viscosity", "options.viscosity", "", "0"),
        ("mjc:option:wind", "options.wind", "", "0"),
        fate="kept",
        reason=MEDIUM,
    ),
    *attributes("MjcSceneAPI", ("mjc:option:noslip_iterations", "options.other", "", "0"), fate="kept", reason=NO_SLIP),
    *attributes(
        "MjcCollisionAPI",
        ("mjc:solref", "material.time_constant, material.damping_ratio", "", "0.02 1"),
        ("mjc:solimp", "material.impedance", "", "0.9 0.95 0.001 0.5 2"),
        ("mjc:condim", "material.contact_dim", "", "3"),
        ("mjc:priority", "material.priority", "", "0"),
        ("mjc:gap", "shape.gap", "distance", "0"),
        ("mjc:shellinertia", "how a shape is weighed", "", "false"),
    ),
    *attributes("MjcCollisionAPI", ("mjc:solmix", "shape.mix", "", "1"), fate="kept", reason=MIX),
    *attributes(
        "MjcMaterialAPI",
        ("mjc:torsionalfriction", "material.torsional", "distance", "0.005 m"),
        ("mjc:rollingfriction", "material.rolling", "distance", "0.0001 m"),
    ),
    *attributes("MjcMeshCollisionAPI", ("mjc:inertia", "how a mesh is weighed", "", "legacy")),
    *attributes(
        "MjcEqualityJointAPI",
        *((f"mjc:coef{power}", "joint equality", "", "NewtonMimicAPI's, else 0; of power 1: 1") for power in range(5)),
    ),
    *attributes(
        "MjcEqualityAPI",
        ("mjc:torqueScale", "equality.torque_scale", "distance", "1"),
        fate="kept",
        reason=NO_EQUALITY,
    ),
    *attributes(
        "MjcJointAPI",
        ("mjc:ref",),
        fate="ignored",
        reason="the frames of a joint say where it is at zero",
    ),
    *attributes(
        "MjcJointAPI",
        ("mjc:actuatorfrclimited",),
        ("mjc:actuatorfrcrange:*",),
        ("mjc:actuatorgravcomp",),
        ("mjc:springdamper",),
        fate="ignored",
        reason="it concerns actuators, which are not simulated yet",
    ),
    *attributes("MjcMeshCollisionAPI", ("mjc:maxhullvert",), fate="ignored", reason="hulls keep all their vertices"),
    *attributes(
        "MjcKeyframe",
        ("mjc:act",),
        ("mjc:mpos",),
        ("mjc:mquat",),
        fate="ignored",
        reason="activations and mocap poses of keyframes are not read yet",
    ),
    *attributes("MjcSiteAPI", ("mjc:group",), ("mjc:rgba",), fate="ignored", reason=APPEARANCE),
    *attributes("MjcActuator", ("mjc:inheritRange",), fate="ignored", reason="the ranges themselves are in the file"),
    *attributes(
        "MjcSceneAPI",
        ("mjc:compiler:*",),
        fate="ignored",
        reason="a setting of MuJoCo's compiler, which the file has been through",
    ),
]

GEOMETRY = [
    *attributes(
        "Xformable",
        ("xformOp:*", "poses", "distance", ""),
        ("xformOpOrder", "poses", "", ""),
        ("visibility", "shape.visible", "", "inherited"),
        ("purpose", "shape.visible", "", "default"),
    ),
    *attributes(
        "Gprim",
        ("size", "shape.size", "distance", "2"),
        ("radius", "shape.size", "distance", "1"),
        ("radiusTop", "shape.size", "distance", "1"),
        ("radiusBottom", "shape.size", "distance", "1"),
        ("height", "shape.size", "distance", "2"),
        ("width", "shape.size", "distance", "2"),
        ("length", "shape.size", "distance", "2"),
        ("axis", "shape.xform", "", "Z"),
        ("points", "shape.mesh", "distance", ""),
        ("faceVertexCounts", "shape.mesh", "", ""),
        ("faceVertexIndices", "shape.mesh", "", ""),
        ("holeIndices", "shape.mesh", "", ""),
        ("orientation", "shape.mesh", "", "rightHanded"),
        ("subdivisionScheme", "shape.mesh: the cage, not subdivided", "", "catmullClark"),
        ("primvars:displayColor", "shape.color", "", ""),
        ("primvars:displayOpacity", "shape.color", "", ""),
        ("primvars:displayColor:indices", "shape.color", "", ""),
        ("primvars:displayOpacity:indices", "shape.color", "", ""),
        ("tetVertexIndices", "deformable.elements", "", ""),
        ("curveVertexCounts", "deformable.elements", "", ""),
    ),
    *attributes(
        "Gprim",
        ("extent",),
        ("extentsHint",),
        ("surfaceFaceVertexIndices",),
        ("model:*",),
        fate="ignored",
        reason=DERIVED,
    ),
    *attributes(
        "Gprim",
        *((name,) for name in ("normals", "doubleSided", "interpolateBoundary", "faceVaryingLinearInterpolation")),
        *((name,) for name in ("creaseIndices", "creaseLengths", "creaseSharpnesses", "cornerIndices")),
        *((name,) for name in ("cornerSharpnesses", "triangleSubdivisionRule", "primvars:*", "refinement*")),
        *((name,) for name in ("basis", "wrap", "type", "widths", "ids", "velocities", "accelerations")),
        *((name,) for name in ("elementType", "familyName", "indices")),
        *((name,) for name in ("inputs:*", "outputs:*", "info:*", "metallic", "omni:*", "ui:*", "semantic:*")),
        *((name,) for name in ("intensity", "exposure*", "projection", "horizontalAperture*", "verticalAperture*")),
        *((name,) for name in ("focalLength", "focusDistance", "fStop", "clipping*", "stereoRole", "shutter:*")),
        *((name,) for name in ("overrideClipRange", "resolution", "sourceName", "viewPickingId", "viewportHandle")),
        *((name,) for name in ("shaping:*", "light:*", "collection:lightLink:*", "collection:shadowLink:*")),
        fate="ignored",
        reason=APPEARANCE,
    ),
    *attributes("Points", ("physics:masses",), fate="ignored", reason="particles are not simulated yet"),
]

IGNORED_PRIMS = {
    "Points": "particles are not simulated yet",
    "PointInstancer": "its copies are not read: make them instances of a prim",
    "NurbsPatch": "NURBS have no triangles: convert them to a mesh",
    "NurbsCurves": "curves are shapes only as deformable bodies",
    "BasisCurves": "curves are shapes only as deformable bodies",
    "HermiteCurves": "curves are shapes only as deformable bodies",
    "Volume": "volumes have no surface",
}
"""Types of prims that are passed over, and why."""

TABLE = AttributeTable("USD", [*PHYSICS, *DEFORMABLES, *NEWTON, *PHYSX, *MJC, *GEOMETRY], {**IGNORED_PRIMS})

_BY_NAME = {name: row for (_, name), row in reversed(TABLE.rows.items())}
_PREFIXES = tuple(sorted((name.removesuffix("*") for name in _BY_NAME if name.endswith("*")), key=len, reverse=True))


@cache
def row_of(name: str) -> Attribute | None:
    """The row of an attribute by its name in a file; None for one that is not in the table."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    parts = name.split(":")
    if len(parts) >= 3 and (row := _BY_NAME.get(":".join((parts[0], "*", *parts[2:])))) is not None:
        return row
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return _BY_NAME[prefix + "*"]
    return None
