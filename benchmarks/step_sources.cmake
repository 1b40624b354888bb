# The sources of the training steps, for whatever program runs some. They need op_case and the modules session, nn,
# optim and data.
set(step_sources)
foreach(name IN ITEMS citation_graph picture_models step_models training_steps)
  list(APPEND step_sources "${CMAKE_CURRENT_LIST_DIR}/${name}.cpp" "${CMAKE_CURRENT_LIST_DIR}/${name}.h")
endforeach()
# All of those for a GPU, with what is counted and compared there.
set(gpu_step_sources ${step_sources})
foreach(name IN ITEMS op_case gpu/burst_time gpu/gpu_cases gpu/gradient_error gpu/step_profile gpu/step_work)
  list(APPEND gpu_step_sources "${CMAKE_CURRENT_LIST_DIR}/${name}.cpp" "${CMAKE_CURRENT_LIST_DIR}/${name}.h")
endforeach()
